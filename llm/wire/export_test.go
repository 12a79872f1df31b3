package wire

var Locate = locate
