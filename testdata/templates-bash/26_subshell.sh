x=1
(x=2; echo $x $BASH_SUBSHELL; [ $BASHPID != $$ ] && echo another process)
echo $x $BASH_SUBSHELL
