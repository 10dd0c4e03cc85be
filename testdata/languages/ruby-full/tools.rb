# Runs each tool of the image on a small input, and prints "ok NAME" if it worked.
require 'open3'
require 'tmpdir'

def tool(*argv, exit_code:, says:)
  said, status = Open3.capture2e(*argv)
  return if status.exitstatus == exit_code && said.include?(says)

  raise "#{argv.join(' ')}: #{status}\n#{said}"
end

Dir.chdir(Dir.mktmpdir)

File.write('right_spec.rb', "RSpec.describe(Integer) { it('adds') { expect(1 + 1).to eq(2) } }\n")
File.write('wrong_spec.rb', "RSpec.describe(Integer) { it('adds') { expect(1 + 1).to eq(3) } }\n")
tool('rspec', 'right_spec.rb', 'wrong_spec.rb', exit_code: 1, says: '2 examples, 1 failure')
puts 'ok rspec'

File.write('ugly.rb', "x = \"text\"\nputs x\n")
tool('rubocop', '--autocorrect', '--only', 'Style/StringLiterals', 'ugly.rb', exit_code: 0, says: 'Prefer single-quoted strings')
raise File.read('ugly.rb') unless File.read('ugly.rb') == "x = 'text'\nputs x\n"

puts 'ok rubocop'
