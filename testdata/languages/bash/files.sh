set -eu -o pipefail
printf hello >a.txt
printf ', world' >>a.txt
mv a.txt b.txt
mkdir -p d/e
cp -p b.txt d/b.txt
ln -s b.txt d/soft
ln b.txt d/hard
truncate -s 5 d/b.txt
chmod 640 d/b.txt
touch -d @2 d/b.txt
mkfifo d/queue
[[ $(stat -c '%a %Y %s' d/b.txt) == '640 2 5' && -L d/soft && $(readlink d/soft) == b.txt ]]
[[ $(ls d | wc -l) == 5 && $(find d -type f | wc -l) == 2 && $(du -s d | cut -f1) -ge 0 ]]
(cd d && [[ $PWD == /box/d && $(cat soft) == hello ]])
cat >c.txt <<TEXT
$(seq 10)
TEXT
sort -rn c.txt | head -1 | grep -qx 10
sed -i 's/10/ten/' c.txt
grep -qx ten c.txt
cp -r d copy 2>/dev/null || cp -r d/e copy
dd if=/dev/zero of=zero bs=1k count=4 status=none
split -n 2 zero part.
exec 9>lock
if command -v flock >/dev/null; then flock 9; fi
sync zero
umask 022
rm -r d copy *.txt zero part.*
[[ ! -e d ]]
df . >/dev/null
echo 'files ok'
