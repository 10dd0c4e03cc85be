program files
  implicit none
  character(len=32) :: line
  integer :: info(13), n, k
  logical :: there

  open(unit=10, file="a.txt")
  write(10, '(a)') "hello"
  close(10)
  open(unit=10, file="a.txt", position="append")
  write(10, '(a)') "world"
  close(10)
  call must(rename("a.txt", "b.txt"), "rename")
  call execute_command_line("mkdir -p d/e", exitstat=n)
  call must(n, "mkdir")
  call must(symlnk("../b.txt", "d/soft"), "symlnk")
  call must(link("b.txt", "d/hard"), "link")
  call must(chmod("b.txt", "u=rw,go="), "chmod")
  call must(stat("d/hard", info), "stat")
  if (info(4) /= 2 .or. info(8) /= 12 .or. iand(info(3), 511) /= 384) error stop "stat: another file"
  call must(lstat("d/soft", info), "lstat")
  call must(access("d/soft", "r"), "access")
  call must(chdir("d"), "chdir")
  call must(getcwd(line), "getcwd")
  if (line /= "/box/d") error stop "getcwd: another directory"
  call must(chdir(".."), "chdir")

  open(unit=10, file="d/soft", action="read")
  read(10, '(a)') line
  read(10, '(a)') line
  if (line /= "world") error stop "read"
  close(10)

  open(unit=11, file="numbers", access="direct", recl=4, form="unformatted")
  do n = 1, 9
    write(11, rec=n) n
  end do
  read(11, rec=5) k
  if (k /= 5) error stop "direct access"
  close(11, status="delete")
  open(unit=12, file="bytes", access="stream", form="unformatted")
  write(12) "abc"
  read(12, pos=2) line(1:1)
  if (line(1:1) /= "b") error stop "stream"
  flush(12)
  close(12, status="delete")

  call execute_command_line("ls d | wc -l > list", exitstat=n)
  call must(n, "ls")
  open(unit=13, file="list")
  read(13, *) n
  if (n /= 3) error stop "list: another number of names"
  close(13, status="delete")
  call must(unlink("d/soft"), "unlink")
  call must(unlink("d/hard"), "unlink")
  call must(unlink("b.txt"), "unlink")
  call execute_command_line("rmdir d/e d", exitstat=n)
  call must(n, "rmdir")
  inquire(file="b.txt", exist=there)
  if (there) error stop "inquire: it is still there"
  print '(a)', "files ok"

contains
  subroutine must(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    if (code /= 0) then
      call perror(what)
      stop 1
    end if
  end subroutine must
end program files
