let () =
  print_endline "never printed";
  print_endline 1
