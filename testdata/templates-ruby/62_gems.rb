p Gem::VERSION, Gem.path, Gem.loaded_specs.keys.sort, Gem.user_dir, Gem.default_dir
p require("json"), Gem.loaded_specs.keys.sort
begin; require "no_such"; rescue LoadError => e; puts e.message, e.path; end
begin; gem "no_such"; rescue LoadError => e; puts e.class; end
