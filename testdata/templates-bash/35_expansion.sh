s=hello.tar.gz
echo "${s%%.*}" "${s#*.}" "${s/l/L}" "${s^^}" "${#s}" "${s:1:3}" {1..3}{a,b} "${none:-default}" ~
echo /usr/bin/ba*
