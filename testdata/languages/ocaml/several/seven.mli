val seven : unit -> int
val text : string
