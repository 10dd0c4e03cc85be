let () =
  let child = Unix.open_process_in "echo from a child" in
  print_endline (In_channel.input_all child |> String.trim);
  assert (Unix.close_process_in child = Unix.WEXITED 0)
