echo text > out.txt
cp out.txt copy.txt
test -f copy.txt && echo exists
ln -s out.txt link
readlink link
ls
