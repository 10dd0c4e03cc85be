program deepcalls;

function deep(n: longint): longint;
begin
  if n = 0 then deep := 0 else deep := 1 + deep(n - 1);
end;

begin
  writeln(deep(100000));
end.
