print("never printed")

let n: Int = "no number"
