func seven() -> Int { 7 }
let text = "from another file"
