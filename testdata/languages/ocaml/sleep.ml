let () = Unix.sleep 60
