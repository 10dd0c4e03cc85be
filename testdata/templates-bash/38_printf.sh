printf '%5.2f|%q|%b|%05d|%x\n' 3.14159 'a b' 'x\ty' 42 255
printf -v v '%s' value
echo $v
printf '%(%Y)T\n' 0
