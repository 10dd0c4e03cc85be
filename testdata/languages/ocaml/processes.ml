let () =
  assert (Sys.command "exit 3" = 3);
  let from_cat, to_cat = Unix.open_process "cat" in
  output_string to_cat "through";
  close_out to_cat;
  assert (In_channel.input_all from_cat = "through");
  assert (Unix.close_process (from_cat, to_cat) = Unix.WEXITED 0);
  (match Unix.fork () with
  | 0 -> Unix._exit 5
  | pid -> assert (Unix.waitpid [] pid = (pid, Unix.WEXITED 5)));
  let sleeper = Unix.create_process "sleep" [| "sleep"; "9" |] Unix.stdin Unix.stdout Unix.stderr in
  Unix.kill sleeper Sys.sigterm;
  assert (snd (Unix.waitpid [] sleeper) = Unix.WSIGNALED Sys.sigterm);
  let rings = ref 0 in
  Sys.set_signal Sys.sigalrm (Signal_handle (fun _ -> incr rings));
  ignore (Unix.setitimer ITIMER_REAL { it_interval = 0.01; it_value = 0.01 });
  while !rings < 3 do Unix.sleepf 0.005 done;
  ignore (Unix.setitimer ITIMER_REAL { it_interval = 0.0; it_value = 0.0 });
  let a, b = Unix.socketpair PF_UNIX SOCK_STREAM 0 in
  assert (Unix.send_substring a "x" 0 1 [] = 1);
  let ready, _, _ = Unix.select [ b ] [] [] 5.0 in
  assert (ready = [ b ] && Unix.recv b (Bytes.create 4) 0 4 [] = 1);
  let m = Mutex.create () and c = Condition.create () and done_ = ref false in
  let t = Thread.create (fun () -> Mutex.protect m (fun () -> done_ := true; Condition.signal c)) () in
  Mutex.protect m (fun () -> while not !done_ do Condition.wait c m done);
  Thread.join t;
  assert (Domain.join (Domain.spawn (fun () -> 7)) = 7);
  assert (Unix.getpid () > 0 && Sys.getenv_opt "HOME" <> None && Unix.times () |> fun t -> t.tms_utime >= 0.0);
  print_endline "processes ok"
