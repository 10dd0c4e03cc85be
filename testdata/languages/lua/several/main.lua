local other = require("other")

print("7 " .. other.text)
