let length text =
  let rec count i n =
    if i >= String.length text then n
    else count (i + Uchar.utf_decode_length (String.get_utf_8_uchar text i)) (n + 1)
  in
  count 0 0

let () =
  print_endline "grün 日本 😀";
  let line = read_line () in
  assert (length line = 13);
  print_endline line
