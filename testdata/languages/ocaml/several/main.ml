let () = Printf.printf "%d %s\n" (Seven.seven ()) Seven.text
