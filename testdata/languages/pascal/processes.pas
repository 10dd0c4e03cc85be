program Processes;
{$mode objfpc}{$H+}
uses
  SysUtils, Process, BaseUnix, Unix;
var
  rang: Boolean = False;
  output, piped: string;
  f: Text;
  pid: TPid;
  status: cint;
  pair: TFilDes;
  c: Char;
  limit: trlimit;
  set_: TFDSet;
  t: timeval;

procedure Ring(sig: cint); cdecl;
begin
  rang := True;
end;

procedure Must(ok: Boolean; const what: string);
begin
  if not ok then begin
    WriteLn(StdErr, what, ': ', SysErrorMessage(fpgeterrno));
    Halt(1);
  end;
end;

begin
  Must(ExecuteProcess('/bin/sh', ['-c', 'exit 3']) = 3, 'ExecuteProcess');
  Must(fpSystem('exit 4') = 4 shl 8, 'system');
  Must(RunCommand('/bin/echo', ['run'], output) and (output = 'run' + LineEnding), 'RunCommand');
  POpen(f, 'echo piped', 'R'); ReadLn(f, piped); PClose(f);
  Must(piped = 'piped', 'popen');
  Must(fppipe(pair) = 0, 'pipe');
  pid := fpfork;
  if pid = 0 then begin
    fpdup2(pair[1], 1);
    c := 'x'; fpwrite(1, c, 1);
    fpexit(7);
  end;
  Must((fpwaitpid(pid, status, 0) = pid) and (wexitstatus(status) = 7), 'fork');
  Must((fpread(pair[0], c, 1) = 1) and (c = 'x'), 'read');
  pid := fpfork;
  if pid = 0 then
    while True do fppause;
  Must((fpkill(pid, SIGTERM) = 0) and (fpwaitpid(pid, status, 0) = pid) and wifsignaled(status), 'kill');
  fpsignal(SIGALRM, @Ring);
  fpalarm(1);
  fppause;
  Must(rang, 'alarm');
  Must(fpgetrlimit(RLIMIT_NOFILE, @limit) = 0, 'getrlimit');
  t.tv_sec := 0; t.tv_usec := 1000;
  fpFD_ZERO(set_); fpFD_SET(pair[0], set_);
  Must(fpselect(pair[0] + 1, @set_, nil, nil, @t) = 0, 'select');
  Must((fpgetpid > 0) and (fpgetppid >= 0) and (fpgetuid = fpgeteuid) and (fpgetgid = fpgetegid), 'ids');
  Must(fpflock(pair[0], LOCK_EX) = 0, 'flock');
  Sleep(2);
  WriteLn('processes ok');
end.
