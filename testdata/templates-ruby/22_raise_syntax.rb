eval "1 +"
