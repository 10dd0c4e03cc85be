at_exit { exit 7 }
raise "boom"
