numbers <- scan("stdin", quiet = TRUE)
cat(sum(numbers), "\n", sep = "")
