cat("processors ", parallel::detectCores(), "\n", sep = "")
