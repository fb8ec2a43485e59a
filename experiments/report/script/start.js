document.querySelectorAll("[data-script]").forEach(one => { one.hidden = false; });  // controls that need this script
headline();
sweep();
blame();
curves();
network();
