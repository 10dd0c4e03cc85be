echo "processors $(nproc)"
