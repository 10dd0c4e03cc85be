cat("grün 日本 😀\n")
line <- readLines("stdin", n = 1)
stopifnot(nchar(line) == 13)
cat(line, "\n", sep = "")
