cat("never printed\n")

x <- 1 2
