source("other.R")
cat(seven(), text, "\n", sep = c(" ", "", ""))
