let seven () = Base7.one * 7
let text = "from another file"
