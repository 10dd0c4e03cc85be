seven <- function() 7
text <- "from another file"
