module Other
let text = "from another file"
