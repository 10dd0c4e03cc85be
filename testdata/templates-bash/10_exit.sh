trap 'echo leaving $?' EXIT
exit 3
