p $stdin.gets, gets, gets, $stdin.eof?, $stdin.lineno
