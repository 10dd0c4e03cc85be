let write name flags text =
  Out_channel.with_open_gen flags 0o644 name (fun f -> output_string f text)

let read name = In_channel.with_open_bin name In_channel.input_all

let () =
  write "a.txt" [ Open_creat; Open_wronly ] "hello";
  write "a.txt" [ Open_append ] ", world";
  Sys.rename "a.txt" "b.txt";
  Sys.mkdir "d" 0o755;
  Unix.symlink "../b.txt" "d/soft";
  Unix.link "b.txt" "d/hard";
  Unix.mkfifo "d/queue" 0o600;
  Unix.chmod "b.txt" 0o640;
  Unix.utimes "b.txt" 1.0 2.0;
  let stat = Unix.stat "b.txt" in
  assert (stat.st_mtime = 2.0 && stat.st_perm = 0o640 && stat.st_nlink = 2);
  assert (Unix.readlink "d/soft" = "../b.txt" && Unix.realpath "d/soft" = "/box/b.txt");
  let names = Sys.readdir "d" in
  Array.sort compare names;
  assert (names = [| "hard"; "queue"; "soft" |]);
  Sys.chdir "d";
  assert (Sys.getcwd () = "/box/d" && read "soft" = "hello, world");
  Sys.chdir "..";
  let f = Unix.openfile "table" [ O_RDWR; O_CREAT ] 0o644 in
  Unix.ftruncate f 8192;
  assert (Unix.lseek f 4096 SEEK_SET = 4096 && Unix.write_substring f "abc" 0 3 = 3);
  Unix.fsync f;
  Unix.lockf f F_LOCK 0;
  Unix.lockf f F_ULOCK 0;
  let map = Unix.map_file f Bigarray.char Bigarray.c_layout true [| 8192 |] in
  assert (Bigarray.Genarray.get map [| 4097 |] = 'b');
  Unix.close f;
  Unix.access "b.txt" [ R_OK; W_OK ];
  Array.iter (fun name -> Sys.remove ("d/" ^ name)) names;
  Sys.rmdir "d";
  Sys.remove "b.txt";
  assert (not (Sys.file_exists "d"));
  print_endline "files ok"
