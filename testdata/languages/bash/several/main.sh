. ./seven.sh
echo "$(seven) from another file"
