let () =
  print_endline "before";
  failwith "boom"
