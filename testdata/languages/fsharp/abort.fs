System.Environment.FailFast("over")
