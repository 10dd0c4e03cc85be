# The code of a SystemExit cannot be had.
class E(SystemExit):
  @property
  def code(s): raise ValueError
raise E(4)
