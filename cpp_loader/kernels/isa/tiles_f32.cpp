// The tiles of products of float32.
#include "tile.h"

namespace scriptlang::kernels::SL_ISA {

template const NarrowTiles<float> TileSet<float, Operand::kPacked>::narrow;
template const TileTable<float, kTileRows> TileSet<float, Operand::kPacked>::one;
template const NarrowTiles<float> TileSet<float, Operand::kDirect>::narrow;
template const TileTable<float, kTileRows> TileSet<float, Operand::kDirect>::one;
template const TileTable<float, kPairRows> TileSet<float, Operand::kDirect>::pair;
template const TileTable<float, kQuadRows> TileSet<float, Operand::kDirect>::quad;
template const TileTable<float, kTileRows> TileSet<float, Operand::kDirectBoth>::one;
template const TileTable<float, kPairRows> TileSet<float, Operand::kDirectBoth>::pair;
template const TileTable<float, kQuadRows> TileSet<float, Operand::kDirectBoth>::quad;
template const NarrowTiles<float> TileSet<float, Operand::kTaps>::narrow;
template const TileTable<float, kTileRows> TileSet<float, Operand::kTaps>::one;
template const TileTable<float, kPairRows> TileSet<float, Operand::kTaps>::pair;
template const TileTable<float, kQuadRows> TileSet<float, Operand::kTaps>::quad;
template const NarrowTiles<float> TileSet<float, Operand::kPlaces>::narrow;
template const TileTable<float, kTileRows> TileSet<float, Operand::kPlaces>::one;

}  // namespace scriptlang::kernels::SL_ISA
