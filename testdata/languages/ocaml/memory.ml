let rec grow kept = grow (Bytes.make 1_000_000 'x' :: kept)
let () = grow []
