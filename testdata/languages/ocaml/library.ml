let () =
  let text = "the year 2026 in a text" in
  ignore (Str.search_forward (Str.regexp "[0-9]+") text 0);
  Printf.printf "regex %s\n" (Str.matched_string text);
  Random.self_init ();
  let n = Random.int 6 in
  Printf.printf "random %s\n" (if n >= 0 && n < 6 then "ok" else "bad");
  let name, out = Filename.open_temp_file "brig" ".txt" in
  output_string out "temp ok";
  close_out out;
  print_endline (In_channel.with_open_text name In_channel.input_all);
  Sys.remove name
