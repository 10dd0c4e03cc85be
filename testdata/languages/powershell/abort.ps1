[Environment]::FailFast("over")
