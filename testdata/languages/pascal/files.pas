program Files;
{$mode objfpc}{$H+}{$I+}
uses
  SysUtils, Classes, BaseUnix;
var
  f: Text;
  b: file of Integer;
  s: TFileStream;
  found: TSearchRec;
  line: string;
  n, v: Integer;

procedure Must(ok: Boolean; const what: string);
begin
  if not ok then begin
    WriteLn(StdErr, what, ': ', SysErrorMessage(fpgeterrno));
    Halt(1);
  end;
end;

begin
  Assign(f, 'a.txt'); Rewrite(f); Write(f, 'hello'); Close(f);
  Append(f); Write(f, ', world'); Close(f);
  Rename(f, 'b.txt');
  Reset(f); ReadLn(f, line); Close(f);
  Must(line = 'hello, world', 'read');
  MkDir('d');
  Must(CreateDir('d/e') and ForceDirectories('d/g/h'), 'CreateDir');
  Must(RenameFile('b.txt', 'd/b.txt') and FileExists('d/b.txt') and not FileExists('b.txt'), 'RenameFile');
  Must(fpsymlink('b.txt', 'd/soft') = 0, 'symlink');
  Must(fplink('d/b.txt', 'd/hard') = 0, 'link');
  Must(fpreadlink('d/soft') = 'b.txt', 'readlink');
  Must(fpchmod('d/b.txt', &640) = 0, 'chmod');
  Must(fpaccess('d/b.txt', R_OK) = 0, 'access');
  Must(FileSetDate('d/b.txt', DateTimeToFileDate(Now)) = 0, 'FileSetDate');
  Must(fpmkfifo('d/queue', &600) = 0, 'mkfifo');
  n := 0;
  if FindFirst('d/*', faAnyFile, found) = 0 then
    repeat Inc(n) until FindNext(found) <> 0;
  FindClose(found);
  Must(n >= 6, 'FindFirst ' + IntToStr(n));
  Assign(b, 'numbers'); Rewrite(b);
  for n := 1 to 9 do Write(b, n);
  Seek(b, 4); Truncate(b); Seek(b, 2); Read(b, v);
  Must((v = 3) and (FileSize(b) = 4), 'numbers');
  Close(b); Erase(b);
  s := TFileStream.Create('stream', fmCreate);
  s.WriteBuffer(line[1], Length(line)); s.Size := 5;
  Must(s.Size = 5, 'stream');
  s.Free;
  Must(DeleteFile('stream'), 'DeleteFile');
  ChDir('d'); GetDir(0, line); ChDir('..');
  Must(line = '/box/d', 'GetDir');
  Must(DeleteFile('d/b.txt') and DeleteFile('d/soft') and DeleteFile('d/hard') and DeleteFile('d/queue'), 'delete');
  Must(RemoveDir('d/e') and RemoveDir('d/g/h') and RemoveDir('d/g'), 'RemoveDir');
  RmDir('d');
  WriteLn('files ok');
end.
