puts Object.constants.sort, global_variables.sort, TOPLEVEL_BINDING.local_variables, self.methods.sort.first(20)
