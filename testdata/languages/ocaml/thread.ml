let () = Thread.join (Thread.create print_endline "from a thread")
