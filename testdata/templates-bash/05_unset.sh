unset PATH HOME
echo ~ "$PATH"
/usr/bin/env | sort
