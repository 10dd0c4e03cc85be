kept <- list()
repeat kept[[length(kept) + 1]] <- runif(1e5)
