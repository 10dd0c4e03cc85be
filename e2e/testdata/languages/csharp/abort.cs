Environment.FailFast("over");
