package dialecttest

import (
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// StandardAgent is an agent with the ceilings of one that sets none, and some of brig's languages. Perl is not stored,
// and Ruby lacks something.
func StandardAgent() dialect.Agent {
	return dialect.Agent{Ceiling: api.DefaultCeiling(), Languages: []api.Language{
		{Name: "bash", Aliases: []string{"sh"}, Extensions: []string{"sh"}, Stored: true, Tier: "default", Version: "5.2"},
		{Name: "c", Extensions: []string{"c"}, Stored: true, Tier: "strict", CompileTier: "compile", Version: "14.2",
			Flags: []string{"-O2", "-Wall", "-Werror", "-std=c99"}, FlagPatterns: []string{"-std=(c|gnu)(89|90|99)", "-l(m|rt)"}},
		{Name: "cpp", Aliases: []string{"c++"}, Extensions: []string{"cpp"}, Stored: true,
			Tier: "default", CompileTier: "compile", Version: "14.2"},
		{Name: "java", Extensions: []string{"java"}, Stored: true, Tier: "managed", CompileTier: "managed", Version: "25"},
		{Name: "javascript", Aliases: []string{"js"}, Extensions: []string{"js"}, Stored: true, Tier: "managed", Version: "24"},
		{Name: "pascal", Extensions: []string{"pas"}, Stored: true, Tier: "default", CompileTier: "compile", Version: "3.2"},
		{Name: "perl", Extensions: []string{"pl"}, Tier: "default", Version: "5.40"},
		{Name: "php", Extensions: []string{"php"}, Stored: true, Tier: "default", Version: "8.4"},
		{Name: "python", Aliases: []string{"python3"}, Extensions: []string{"py"}, Stored: true, Tier: "default", Version: "3.13"},
		{Name: "python-full", Extensions: []string{"py"}, Stored: true, Tier: "default", Version: "3.13"},
		{Name: "ruby", Extensions: []string{"rb"}, Stored: true, Lacks: []string{"/usr/bin/ruby"}, Tier: "default", Version: "3.3"},
		{Name: "typescript", Aliases: []string{"ts"}, Extensions: []string{"ts"}, Stored: true,
			Tier: "managed", CompileTier: "managed", Version: "5.9"},
	}}
}
