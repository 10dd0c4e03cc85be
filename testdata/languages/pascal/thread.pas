program Threaded;
{$mode objfpc}
uses
  cthreads, Classes;

type
  TTeller = class(TThread)
  protected
    procedure Execute; override;
  end;

procedure TTeller.Execute;
begin
  WriteLn('from a thread');
end;

var
  teller: TTeller;
begin
  teller := TTeller.Create(False);
  teller.WaitFor;
  teller.Free;
end.
