use No::Such::Module;
